import type { Log } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { MemorySigningKeys } from '../../../host/fake/memory-signing-keys.ts';
import { SeededRandom } from '../../../host/fake/seeded-random.ts';
import { createMemoryApiServer } from '../../api-client/fake/memory-api-server.ts';
import { CertificateStore } from '../certificate-store.ts';
import { MemorySigner } from './memory-signer.ts';

export const FOLDER = '/var/lib/kubelet/pki';

/** An in-memory host, API server and certificate signer. They run until `life` aborts. */
export async function certificateScene() {
  const host = createMemoryHost();
  const { clock, random, signingKeys: keys, fs } = host;
  const server = createMemoryApiServer({ clock, random });
  const key = await new MemorySigningKeys(new SeededRandom(99)).generate();
  const signer = new MemorySigner({ api: server.direct, clock, key });
  const life = new AbortController();
  const logged: string[] = [];
  const note = (message: string, fields: object = {}): void => {
    const error = 'error' in fields ? `: ${String(fields.error)}` : '';
    logged.push(`${message}${error}`);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note };
  void signer.run(life.signal);
  const store = (prefix: string) => new CertificateStore({ prefix, folder: FOLDER }, { fs, clock });
  return { ...host, keys, server, signer, life, logged, log, store };
}
