import type { ListedImage } from '../../app/embedded/image-operations.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { ListOptions } from '../options/image-options.ts';
import { byteSize } from './byte-size.ts';
import { shortId } from './short-id.ts';
import { textTable } from './text-table.ts';

const NONE = '<none>';

interface ImageRow {
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
  readonly image: ListedImage;
}

/** The output of `nodelet image ls`: a row for each name, as in Docker. */
export function imageList(images: readonly ListedImage[], options: Omit<ListOptions, 'verb'>): string {
  const rows = images.flatMap(imageRows).sort((a, b) => byCodePoint(sortKey(a), sortKey(b)));
  const idOf = ({ id }: ListedImage): string => (options.whole ? id : shortId(id));
  if (options.format === 'json') {
    const ordered = [...new Set(rows.map(({ image }) => image))];
    return `${JSON.stringify(ordered, undefined, 2)}\n`;
  }
  if (options.format === 'ids') return [...new Set(rows.map(({ image }) => `${idOf(image)}\n`))].join('');
  const optional = (cell: string): readonly string[] => (options.digests ? [cell] : []);
  return textTable([
    ['REPOSITORY', 'TAG', ...optional('DIGEST'), 'IMAGE ID', 'SIZE'],
    ...rows.map(({ repository, tag, digest, image }) => [
      repository,
      tag,
      ...optional(digest),
      idOf(image),
      byteSize(image.sizeBytes),
    ]),
  ]);
}

function imageRows(image: ListedImage): readonly ImageRow[] {
  const digests = new Map(image.digests.map((name) => splitAt(name, name.indexOf('@'))));
  const tagged = image.tags.map((name) => {
    const [repository, tag] = splitAt(name, name.lastIndexOf(':'));
    return { repository, tag, digest: digests.get(repository) ?? NONE, image };
  });
  if (tagged.length > 0) return tagged;
  if (digests.size === 0) return [{ repository: NONE, tag: NONE, digest: NONE, image }];
  return [...digests].map(([repository, digest]) => ({ repository, tag: NONE, digest, image }));
}

function splitAt(text: string, at: number): [before: string, behind: string] {
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Images without a name come last. */
function sortKey({ repository, tag, image }: ImageRow): string {
  return `${repository === NONE ? '~' : repository} ${tag} ${image.id}`;
}
