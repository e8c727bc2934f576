// Imported by a waiting child, so that the loader of CommonJS modules is up before the first package needs it.
exports.warm = true;
