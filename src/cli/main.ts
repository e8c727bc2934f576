#!/usr/bin/env node
import { EXIT, reportError } from './exit.js';
import { program } from './program.js';

// A reader that went away (`sallyport … | head`) is no error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

try {
  const command = await program(process.argv.slice(2));
  await command.parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportError(error, (line) => process.stderr.write(`${line}\n`));
}
