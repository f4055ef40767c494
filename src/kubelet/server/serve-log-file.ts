import { posix } from 'node:path';
import {
  type FileStat,
  type FileSystem,
  FileSystemError,
  type OpenDirectory,
  type OpenFile,
} from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import { byteRange, conditionOf, isNotModifiedSince } from './logs/conditional-request.ts';
import { directoryPage } from './logs/directory-page.ts';
import { formatHttpDate } from './logs/http-date.ts';
import type { MediaTypes } from './logs/media-types.ts';
import { SNIFFED_BYTES, sniffMediaType } from './logs/sniff-media-type.ts';
import { errorLine } from './responses.ts';

export interface LogFileDeps {
  readonly fs: Pick<FileSystem, 'openFileBeneath' | 'openDirectoryBeneath'>;
  readonly mediaTypes: Pick<MediaTypes, 'typeOf'>;
}

export const LOG_FOLDER = '/var/log';
const INDEX_PAGE = '/index.html';
const CHUNK_BYTES = 64 * 1024;

/**
 * A file or folder of the log folder, as Go's file server answers. Links that lead out of the folder are not followed:
 * a pod that may write there could otherwise show any file of the node.
 */
export async function serveLogFile(
  deps: LogFileDeps,
  path: string,
  { headers, rawQuery }: Pick<TlsRequest, 'headers' | 'rawQuery'>,
): Promise<ServerResponse> {
  const whole = path.startsWith('/') ? path : `/${path}`;
  if (whole.endsWith(INDEX_PAGE)) return redirectHere('./', rawQuery);
  const clean = posix.normalize(whole).replace(/(.)\/$/, '$1');
  const base = posix.basename(clean);
  try {
    const found = await openPath(deps.fs, clean);
    if (found.kind === 'file') {
      if (whole.endsWith('/')) return await closing(found.file, async () => redirectHere(`../${base}`, rawQuery));
      return await fileResponse(deps, base, found.file, headers);
    }
    if (!whole.endsWith('/')) return await closing(found.folder, async () => redirectHere(`${base}/`, rawQuery));
    return await folderResponse(deps, clean, found.folder, headers);
  } catch (error) {
    return fileErrorResponse(error);
  }
}

type Opened =
  | { readonly kind: 'file'; readonly file: OpenFile }
  | { readonly kind: 'folder'; readonly folder: OpenDirectory };

async function openPath(fs: LogFileDeps['fs'], path: string): Promise<Opened> {
  if (path.includes('\0')) throw new FileSystemError('ENOENT', 'open', path);
  try {
    return { kind: 'file', file: await fs.openFileBeneath(LOG_FOLDER, path) };
  } catch (error) {
    if (!(error instanceof FileSystemError) || error.code !== 'EISDIR') throw error;
    return { kind: 'folder', folder: await fs.openDirectoryBeneath(LOG_FOLDER, path) };
  }
}

async function closing<T>(resource: AsyncDisposable, work: () => Promise<T>): Promise<T> {
  await using _ = resource;
  return await work();
}

async function folderResponse(
  deps: LogFileDeps,
  path: string,
  folder: OpenDirectory,
  headers: TlsRequest['headers'],
): Promise<ServerResponse> {
  const index = await deps.fs.openFileBeneath(LOG_FOLDER, `${path}${INDEX_PAGE}`).catch(() => undefined);
  if (index) return closing(folder, () => fileResponse(deps, 'index.html', index, headers));
  await using undo = new AsyncDisposableStack();
  undo.use(folder);
  const { modifiedMs } = await folder.stat();
  const modified = { 'last-modified': formatHttpDate(modifiedMs) };
  if (isNotModifiedSince(headers, modifiedMs)) return { status: 304, headers: modified, body: '' };
  undo.move();
  const page = { ...modified, 'content-type': 'text/html; charset=utf-8' };
  return { status: 200, headers: page, body: closingAfter(directoryPage(folder.entries()), folder) };
}

async function fileResponse(
  { mediaTypes }: LogFileDeps,
  name: string,
  file: OpenFile,
  headers: TlsRequest['headers'],
): Promise<ServerResponse> {
  await using undo = new AsyncDisposableStack();
  undo.use(file);
  const { modifiedMs, size }: FileStat = await file.stat();
  const modified = { 'last-modified': formatHttpDate(modifiedMs) };
  const condition = conditionOf(headers, modifiedMs);
  if (condition.kind !== 'content') {
    return { status: condition.kind === 'failed' ? 412 : 304, headers: modified, body: '' };
  }
  const range = byteRange(condition.range, size);
  if (range.kind === 'invalid') return rangeError(range.isBeyond, size);
  const type = (await mediaTypes.typeOf(name)) ?? sniffMediaType(await file.read(0, SNIFFED_BYTES));
  const isPart = range.kind === 'part';
  const [start, length] = isPart ? [range.start, range.length] : [0, size];
  undo.move();
  return {
    status: isPart ? 206 : 200,
    headers: {
      ...modified,
      'content-type': type,
      'accept-ranges': 'bytes',
      'content-length': String(length),
      ...(isPart && { 'content-range': `bytes ${start}-${start + length - 1}/${size}` }),
    },
    body: closingAfter(fileChunks(file, start, length), file),
  };
}

function rangeError(isBeyond: boolean, size: number): ServerResponse {
  const response = errorLine(416, isBeyond ? 'invalid range: failed to overlap' : 'invalid range');
  return isBeyond ? { ...response, headers: { ...response.headers, 'content-range': `bytes */${size}` } } : response;
}

/** Throws when the file has become shorter: the client must not take the rest for its content. */
async function* fileChunks(file: OpenFile, start: number, length: number): AsyncGenerator<Uint8Array, void, void> {
  for (let sent = 0; sent < length; ) {
    const chunk = await file.read(start + sent, Math.min(CHUNK_BYTES, length - sent));
    if (chunk.length === 0) throw new Error('the file was truncated while it was read');
    sent += chunk.length;
    yield chunk;
  }
}

async function* closingAfter<T>(chunks: AsyncIterable<T>, resource: AsyncDisposable): AsyncGenerator<T, void, void> {
  await using _ = resource;
  yield* chunks;
}

function redirectHere(location: string, rawQuery: string): ServerResponse {
  return { status: 301, headers: { location: rawQuery === '' ? location : `${location}?${rawQuery}` }, body: '' };
}

const NOT_FOUND = ['ENOENT', 'ENOTDIR', 'EXDEV'];

function fileErrorResponse(error: unknown): ServerResponse {
  if (!(error instanceof FileSystemError)) throw error;
  if (NOT_FOUND.includes(error.code)) return errorLine(404, '404 page not found');
  if (error.code === 'EACCES' || error.code === 'EPERM') return errorLine(403, '403 Forbidden');
  return errorLine(500, '500 Internal Server Error');
}
