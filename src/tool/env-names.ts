const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Variables that change how programs start, load code, resolve names or trust certificates: never a caller's to set. */
const REFUSED = new Set([
  'PATH',
  'HOME',
  'TMPDIR',
  'TEMP',
  'TMP',
  'SHELL',
  'PWD',
  'OLDPWD',
  'IFS',
  'ENV',
  'BASH_ENV',
  'SHELLOPTS',
  'BASHOPTS',
  'PS4',
  'PROMPT_COMMAND',
  'CDPATH',
  'GLOBIGNORE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'FTP_PROXY',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'SSLKEYLOGFILE',
  'GCONV_PATH',
  'HOSTALIASES',
  'LOCALDOMAIN',
  'RES_OPTIONS',
  'RESOLV_HOST_CONF',
  'NLSPATH',
  'GETCONF_DIR',
  'TZDIR',
  'GLIBC_TUNABLES',
  'LOCPATH',
  'JAVA_TOOL_OPTIONS',
  '_JAVA_OPTIONS',
  'JDK_JAVA_OPTIONS',
  'CLASSPATH',
  'EDITOR',
  'VISUAL',
  'PAGER',
  'BROWSER',
  'SSH_AUTH_SOCK',
  'SSH_ASKPASS',
  'SUDO_ASKPASS',
  'LESSOPEN',
  'LESSCLOSE',
]);

/** The same for whole families of variables. `NODE_ENV` is what programs are meant to read. */
const REFUSED_PREFIXES = [
  'NODE_',
  'LD_',
  'DYLD_',
  'NPM_',
  'YARN_',
  'PNPM_',
  'COREPACK_',
  'BUN_',
  'DENO_',
  'GIT_',
  'BASH_FUNC_',
  'PYTHON',
  'PERL',
  'RUBY',
  'OPENSSL_',
  'MALLOC_',
  'UV_',
  'V8_',
  'XDG_',
  'DBUS_',
];

/** Says why a variable of this name cannot be set, or nothing. */
export function envNameProblem(name: string): string | undefined {
  if (!NAME.test(name)) return 'is not a name for a variable: letters, digits and "_", not a digit first';
  const upper = name.toUpperCase();
  if (upper === 'NODE_ENV') return undefined;
  if (REFUSED.has(upper) || REFUSED_PREFIXES.some((prefix) => upper.startsWith(prefix))) {
    return 'is reserved: it changes how programs start, find code or reach the network';
  }
  return undefined;
}
