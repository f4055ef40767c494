import type { FileSystem } from '../../../host/file-system.ts';

/** Types that Go knows without a database. */
const BUILT_IN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'application/gzip': '.gz',
    'application/json': '.json',
    'application/octet-stream': '.bin .com .exe',
    'application/pdf': '.pdf',
    'application/postscript': '.ai .eps .ps',
    'application/rdf+xml': '.rdf',
    'application/rtf': '.rtf',
    'application/wasm': '.wasm',
    'application/xhtml+xml': '.xht .xhtml',
    'application/zip': '.zip',
    'audio/flac': '.flac',
    'audio/mp4': '.m4a',
    'audio/mpeg': '.mp3',
    'audio/ogg': '.oga .ogg .opus',
    'audio/wav': '.wav',
    'audio/webm': '.webm',
    'image/apng': '.apng',
    'image/avif': '.avif',
    'image/bmp': '.bmp',
    'image/gif': '.gif',
    'image/jpeg': '.jfif .jpeg .jpg .pjp .pjpeg',
    'image/png': '.png',
    'image/svg+xml': '.svg',
    'image/tiff': '.tif .tiff',
    'image/vnd.microsoft.icon': '.ico',
    'image/webp': '.webp',
    'image/x-xbitmap': '.xbm',
    'message/rfc822': '.eml',
    'text/calendar': '.ics',
    'text/css': '.css',
    'text/csv': '.csv',
    'text/html': '.ehtml .htm .html .shtml',
    'text/javascript': '.js .mjs',
    'text/plain': '.text .txt',
    'text/vtt': '.vtt',
    'text/xml': '.xbl .xml .xsl',
    'video/mp4': '.mp4',
    'video/ogg': '.ogv',
  }).flatMap(([type, names]) => names.split(' ').map((name) => [name, withCharset(type)] as const)),
);

const GLOBS = ['/usr/local/share/mime/globs2', '/usr/share/mime/globs2'];
const TYPE_FILES = [
  '/etc/mime.types',
  '/etc/apache2/mime.types',
  '/etc/apache/mime.types',
  '/etc/httpd/conf/mime.types',
];

/** Media types by the extension of a file: Go's own and those of the machine's database, which is read once. */
export class MediaTypes {
  readonly #fs: Pick<FileSystem, 'readText'>;
  #types: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(fs: Pick<FileSystem, 'readText'>) {
    this.#fs = fs;
  }

  /** `undefined`: the type is not known. */
  async typeOf(fileName: string): Promise<string | undefined> {
    const dot = fileName.lastIndexOf('.');
    if (dot < 0) return undefined;
    this.#types ??= this.#read();
    const [types, extension] = [await this.#types, fileName.slice(dot)];
    return types.get(extension) ?? types.get(extension.toLowerCase());
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    for (const path of GLOBS) {
      const text = await this.#fs.readText(path).catch(() => undefined);
      // The lines are in the order of their weight, so the first one counts.
      if (text !== undefined) return new Map([...globTypes(text).toReversed(), ...BUILT_IN]);
    }
    const texts = await Promise.all(TYPE_FILES.map((path) => this.#fs.readText(path).catch(() => '')));
    return new Map([...BUILT_IN, ...texts.flatMap(listedTypes)]);
  }
}

/** `50:text/x-log:*.log` */
function globTypes(text: string): readonly (readonly [string, string])[] {
  return text.split('\n').flatMap((line) => {
    const [weight = '', type = '', pattern = ''] = line.split(':');
    const isExtension = /^\*\.[^?*[]+$/.test(pattern);
    return isExtension && !weight.startsWith('#') ? [[pattern.slice(1), withCharset(type)] as const] : [];
  });
}

/** `text/plain  asc txt` */
function listedTypes(text: string): readonly (readonly [string, string])[] {
  return text.split('\n').flatMap((line) => {
    const [type = '', ...names] = line.split(/\s+/);
    if (type === '' || type.startsWith('#')) return [];
    const end = names.findIndex((name) => name.startsWith('#'));
    return names
      .slice(0, end < 0 ? names.length : end)
      .filter((name) => name !== '')
      .map((name) => [`.${name}`, withCharset(type)] as const);
  });
}

function withCharset(type: string): string {
  return type.startsWith('text/') && !type.includes('charset=') ? `${type}; charset=utf-8` : type;
}
