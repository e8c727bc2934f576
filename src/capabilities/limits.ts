/** What a guest is told about a failure fits on a screen, and a hostile upstream cannot fill the guest's memory with it. */
export const MAX_ERROR_MESSAGE_CHARS = 2_000;

/** A model repairs a handful of mistakes at once; more only hides the first. */
export const MAX_REPORTED_ISSUES = 8;

/** The length that MCP allows for a tool's name. */
export const MAX_TOOL_NAME_CHARS = 128;

/** Enough to show what a namespace offers; a longer list costs the reader more than it tells. */
export const MAX_LISTED_TOOLS = 20;

/**
 * How many looks at parts of a value a schema with `uniqueItems` may take where a list somewhere has equal items: then every pair of
 * the lists that it is asked of is compared, up to 2,000 numbers or 500 small objects. Two seconds or so of the host's time.
 */
export const MAX_VALIDATION_READS = 5_000_000;

/** Collecting every issue visits the whole value: values with more parts than this report the first issue only. */
export const MAX_VALUES_FOR_ALL_ISSUES = 1_000;

/** About four subschemas for each of the 256 Ki values of the largest input: a second or so of the host's time. */
export const MAX_VALIDATION_STEPS = 1_000_000;

/** Collecting every issue is a courtesy: a few milliseconds, else the first issue has to do. */
export const MAX_VALIDATION_STEPS_FOR_ALL_ISSUES = 20_000;
