// Imported by a waiting child, so that the loader of modules is up before the first package needs it.
export const warm = true;
