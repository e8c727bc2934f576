import { countOf, type Report } from '../outcome.js';
import { escapeXml } from './xml.js';

/** The average width of a character at 11 px, and the space left and right of a text. */
const CHARACTER_PX = 6.6;
const PADDING_PX = 8;

/** A badge as SVG: green when all passed, yellow when only SHOULDs failed, red when a MUST did, grey when nothing ran. */
export function badge(report: Report): string {
  const { passed, failed, failedMusts } = countOf(report.outcomes);
  const label = report.title;
  const value = `${passed}/${passed + failed}`;
  const colour = passed + failed === 0 ? '#707070' : failedMusts > 0 ? '#c0392b' : failed > 0 ? '#b7950b' : '#1e8449';
  const left = widthOf(label);
  const right = widthOf(value);
  const text = (x: number, words: string): string => `<text x="${x}" y="14">${escapeXml(words)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${escapeXml(`${label}: ${value}`)}">`,
    `<title>${escapeXml(`${label}: ${value}`)}</title>`,
    `<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${colour}"/>`,
    '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">',
    text(left / 2, label),
    text(left + right / 2, value),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function widthOf(text: string): number {
  return Math.round(text.length * CHARACTER_PX + 2 * PADDING_PX);
}
