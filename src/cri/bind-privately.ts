import type { EventEmitter } from 'node:events';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { FileSystem } from '../host/file-system.ts';

export interface UnixSocket {
  readonly socketPath: string;
  /** Permission bits of the socket. Write permission allows every RPC. */
  readonly mode: number;
  readonly fs: Pick<FileSystem, 'changeMode' | 'makeDirectory' | 'removeTree' | 'rename'>;
}

/**
 * Binds a gRPC server in a folder that no other user can enter and renames: no client can connect before the mode is set,
 * and a stale socket is replaced atomically.
 */
export async function bindPrivately(server: Server, { socketPath, mode, fs }: UnixSocket): Promise<void> {
  const folder = `${socketPath}.new`;
  await fs.removeTree(folder); // of a killed process
  await fs.makeDirectory(folder, 0o700);
  try {
    await bind(server, `${folder}/s`);
    await fs.changeMode(`${folder}/s`, mode);
    await fs.rename(`${folder}/s`, socketPath);
  } finally {
    await fs.removeTree(folder);
  }
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/** The package keeps them in a private map and has no listener for their errors, which would end the process. */
export function listeningServers(server: Server): readonly EventEmitter[] {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(servers instanceof Map) || servers.size === 0) throw new TypeError('the gRPC server does not listen');
  return [...servers.keys()];
}
