// What has to be true at the end.

/** The server under this load takes some 250 MiB at most; twice that is a leak or a flood. */
const MAX_RSS_MIB = 500;
/** What an idle server may hold more than at its start: caches that fill once. */
const GROWTH = { rssMiB: 150, handles: 24, processes: 6, files: 40 };

/** Returns everything that is wrong. */
export function judge({ before, after, works, asyncEnds, leftInTmp, audit, problems, books }, samples) {
  const complaints = [...problems];
  const complain = (wrong, text) => {
    if (wrong) complaints.push(text);
  };
  complain(books.unanswered.length > 0, `without an outcome: ${books.unanswered.join(', ')}`);
  complain(
    books.asked !== books.answered,
    `${books.asked} executions were asked for, ${books.answered} have an outcome`,
  );
  for (const { kind, outcome, message } of books.unexplained.slice(0, 10)) {
    complaints.push(`no fault explains ${kind}: ${outcome} (${message})`);
  }
  for (const [outcome, count] of Object.entries(books.outcomes)) {
    complain(/: (bug|hang|wrong result|no id|no code)$/.test(outcome), `${count} x ${outcome}`);
  }
  complain(
    audit.started !== audit.ended + audit.lostWithServer,
    `the log has ${audit.started} beginnings, ${audit.ended} ends, and ${audit.lostWithServer} that a kill cut off`,
  );
  complain(audit.negativeDurations > 0, `${audit.negativeDurations} executions ended before they began, says the log`);
  for (const [status, count] of Object.entries(asyncEnds)) {
    complain(
      !['succeeded', 'failed', 'cancelled'].includes(status),
      `${count} accepted async executions are ${status}`,
    );
  }
  for (const [kind, outcome] of Object.entries(works))
    complain(outcome !== 'ok', `${kind} does not work at the end: ${outcome}`);
  for (const [what, allowed] of Object.entries(GROWTH)) {
    complain(after[what] - before[what] > allowed, `${what} at rest went from ${before[what]} to ${after[what]}`);
  }
  const peak = Math.max(0, ...samples.map(({ rssMiB }) => rssMiB));
  complain(peak > MAX_RSS_MIB, `the server took ${peak} MiB`);
  complain(leftInTmp.length > 0, `left in the folder for temporary files: ${leftInTmp.join(', ')}`);
  return complaints;
}
