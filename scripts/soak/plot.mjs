// Draws a report: four curves over time, and a mark for each fault.
const WIDTH = 900;
const PANEL = 130;
const GAP = 34;
const LEFT = 60;
const RIGHT = 20;
const CURVES = [
  ['rssMiB', 'memory of the server (MiB)'],
  ['handles', 'handles of the server'],
  ['processes', 'processes below the server'],
  ['files', 'temporary files'],
];
const COLOURS = {
  'kill -9 of a child': '#e8a33d',
  'kill -9 of the server': '#c0392b',
  'clock jump': '#8e44ad',
  'full disk': '#16a085',
  'slow registry': '#7f8c8d',
  'hanging registry': '#7f8c8d',
  'broken registry': '#7f8c8d',
};

/** Returns the picture as SVG. */
export function plot({ samples, faultTimes, seconds, title }) {
  const height = CURVES.length * (PANEL + GAP) + 70;
  const x = (at) => LEFT + (at / seconds) * (WIDTH - LEFT - RIGHT);
  const parts = [`<text x="${LEFT}" y="20" font-size="14">${escaped(title)}</text>`];
  for (const [index, [key, name]] of CURVES.entries()) {
    const top = 50 + index * (PANEL + GAP);
    const most = Math.max(1, ...samples.map((sample) => sample[key]));
    const y = (value) => top + PANEL - (value / most) * PANEL;
    parts.push(`<text x="${LEFT}" y="${top - 6}">${name}, at most ${most}</text>`);
    parts.push(
      `<rect x="${LEFT}" y="${top}" width="${WIDTH - LEFT - RIGHT}" height="${PANEL}" fill="none" stroke="#ccc"/>`,
    );
    parts.push(`<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end">${most}</text>`);
    parts.push(`<text x="${LEFT - 6}" y="${top + PANEL}" text-anchor="end">0</text>`);
    for (const [fault, colour] of Object.entries(COLOURS)) {
      const marks = faultTimes.filter(({ name: kind }) => kind === fault);
      const path = marks.map(({ at }) => `M${x(at).toFixed(1)} ${top}v${PANEL}`).join('');
      if (path !== '') parts.push(`<path d="${path}" stroke="${colour}" stroke-width="0.7" opacity="0.6"/>`);
    }
    const points = [...highest(samples, key, x)].map(([at, value]) => `${at},${y(value).toFixed(0)}`).join(' ');
    parts.push(`<polyline points="${points}" fill="none" stroke="#2c5d8f" stroke-width="1.3"/>`);
  }
  const legend = Object.entries(COLOURS).map(([name, colour], index) => {
    const at = LEFT + index * 120;
    return `<text x="${at}" y="${height - 8}" font-size="9" fill="${colour}">| ${name}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${[...parts, ...legend].join('\n')}
</svg>
`;
}

/** One point per column of the picture, the highest: what is between two columns cannot be seen. */
function highest(samples, key, x) {
  const columns = new Map();
  for (const sample of samples) {
    const at = Math.round(x(sample.at));
    columns.set(at, Math.max(columns.get(at) ?? 0, sample[key]));
  }
  return columns;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
