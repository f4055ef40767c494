import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectOptions } from '../../../src/cri/client.ts';
import { type CriServer, serveCri } from '../../../src/cri/server.ts';
import type { Cri } from '../../../src/cri/services.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';

export interface Served {
  readonly server: CriServer;
  readonly socketPath: string;
  readonly endpoint: string;
  /** For `connectCri`. */
  readonly options: ConnectOptions;
}

/** Serves `cri` on a socket in a temporary directory, which `close` removes. */
export async function serveForTest(cri: Cri): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-cri-'));
  const socketPath = join(folder, 'cri.sock');
  const fs = linuxFileSystem;
  const server = await serveCri({ socketPath, mode: 0o600, fs, clock: linuxClock }, cri);
  return {
    server: {
      async close() {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      },
    },
    socketPath,
    endpoint: `unix://${socketPath}`,
    options: { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 },
  };
}
