import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import { type NodeLogQuery, nodeLogQueryError, parseNodeLogQuery } from './logs/node-log-query.ts';
import { type ServiceLogDeps, serviceLogs } from './logs/service-logs.ts';
import { errorLine } from './responses.ts';
import { LOG_FOLDER, type LogFileDeps, serveLogFile } from './serve-log-file.ts';

export interface SystemLogDeps extends Omit<ServiceLogDeps, 'fs' | 'folder'>, Omit<LogFileDeps, 'fs'> {
  readonly fs: Pick<FileSystem, 'openFileBeneath' | 'openDirectoryBeneath'>;
  /** `enableSystemLogQuery` */
  readonly mayQuery: boolean;
}

/** `/logs/`: the log folder of the node, and queries for the logs of its services. */
export async function serveSystemLogs(
  deps: SystemLogDeps,
  path: string,
  request: Pick<TlsRequest, 'headers' | 'query' | 'rawQuery' | 'signal'>,
): Promise<ServerResponse> {
  const parsed = deps.mayQuery ? parseNodeLogQuery(request.query) : ({ kind: 'none' } as const);
  if (parsed.kind === 'invalid') return errorLine(400, parsed.message);
  if (parsed.kind === 'none') return serveLogFile(deps, path, request);
  if (path !== '') return errorLine(406, 'path not allowed in query mode');
  const { query, untilText } = parsed;
  const queryError = nodeLogQueryError(query, untilText, await queriedFileError(deps, query));
  if (queryError !== undefined) return errorLine(406, queryError);
  const [file] = query.files;
  if (file !== undefined) return serveLogFile(deps, file, request);
  const logs = serviceLogs({ ...deps, folder: LOG_FOLDER }, query.services, query.options, request.signal);
  const isCompressed = request.headers['accept-encoding'] === 'gzip';
  return {
    status: 200,
    headers: { 'content-type': 'text/plain;charset=UTF-8', ...(isCompressed && { 'content-encoding': 'gzip' }) },
    body: isCompressed ? compressed(logs) : logs,
  };
}

/** The error of the file that a query asks for, in Go's words. */
async function queriedFileError({ fs }: SystemLogDeps, { files }: NodeLogQuery): Promise<string | undefined> {
  const [path] = files;
  if (path === undefined || files.length > 1) return undefined;
  // As in Go: an absolute path leaves the folder, wherever it leads.
  if (path.startsWith('/')) return `statat ${path}: path escapes from parent`;
  try {
    await (await fs.openFileBeneath(LOG_FOLDER, path))[Symbol.asyncDispose]();
    return undefined;
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    if (error.code === 'EXDEV') return `statat ${path}: path escapes from parent`;
    if (error.code === 'ENOENT') return `statat ${path}: no such file or directory`;
    if (error.code === 'ENOTDIR') return `statat ${path}: not a directory`;
    return undefined; // it exists; serving it shows the error
  }
}

/** The client decides how fast it reads: compression waits for it. */
async function* compressed(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  pipeline(Readable.from(chunks, { objectMode: true }), gzip, () => {}); // an error ends the iteration below
  yield* gzip;
}
