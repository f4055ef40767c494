import { byCodePoint } from '../../../base/code-point-order.ts';
import type { FolderName } from '../../../host/file-system.ts';

/** Containers write into the log folder: a page has at most so many names, and says so. */
const MAX_NAMES = 50_000;
const NAMES_PER_CHUNK = 500;

/** The HTML page of a folder, as Go's file server writes it. */
export async function* directoryPage(
  entries: AsyncIterable<readonly FolderName[]>,
): AsyncGenerator<string, void, void> {
  const names: string[] = [];
  let isCut = false;
  for await (const batch of entries) {
    for (const { name, isFolder } of batch) if (names.length < MAX_NAMES) names.push(isFolder ? `${name}/` : name);
    isCut = names.length === MAX_NAMES;
    if (isCut) break;
  }
  names.sort((a, b) => byCodePoint(a.replace(/\/$/, ''), b.replace(/\/$/, '')));
  yield '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n';
  for (let at = 0; at < names.length; at += NAMES_PER_CHUNK) {
    yield names
      .slice(at, at + NAMES_PER_CHUNK)
      .map((name) => `<a href="${linkTo(name)}">${escapeHtml(name)}</a>\n`)
      .join('');
  }
  yield isCut ? `… the first ${MAX_NAMES} names that were found\n</pre>\n` : '</pre>\n';
}

/** A relative URL; a colon in it would begin a scheme. */
function linkTo(name: string): string {
  const path = encodeURIComponent(name.toWellFormed())
    .replace(/%(24|26|2B|2C|2F|3A|3B|3D|40)/g, (code) => decodeURIComponent(code))
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const [first = ''] = path.split('/');
  return first.includes(':') ? `./${path}` : path;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}
