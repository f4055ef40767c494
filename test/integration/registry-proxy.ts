import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import type { TestRegistry } from './registry-fixture.ts';

/** A registry proxy that counts requests, delays responses, or corrupts them. */
export interface RegistryProxy {
  readonly address: string;
  /** The number of blob requests so far. */
  blobReads(): number;
  /** Holds blob responses back until `resume`. */
  stall(): void;
  resume(): void;
  /** Corrupts one byte of blob responses. */
  lie(): void;
  stop(): Promise<void>;
}

const BLOB = /\/blobs\/sha256:/;

export async function startRegistryProxy(registry: TestRegistry): Promise<RegistryProxy> {
  let reads = 0;
  let lies = false;
  let gate: PromiseWithResolvers<void> | undefined;
  const server = createServer((asked, answer) => {
    void (async () => {
      const isRead = asked.method === 'GET' && BLOB.test(asked.url ?? '');
      if (isRead) reads++;
      if (isRead) await gate?.promise;
      pass(registry, asked, answer, isRead && lies);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no port');
  return {
    address: `127.0.0.1:${address.port}`,
    blobReads: () => reads,
    stall() {
      gate ??= Promise.withResolvers();
    },
    resume() {
      gate?.resolve();
      gate = undefined;
    },
    lie() {
      lies = true;
    },
    async stop() {
      gate?.resolve();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pass({ port }: TestRegistry, asked: IncomingMessage, answer: ServerResponse, lies: boolean): void {
  const { method, url: path, headers } = asked;
  const passed = request({ host: '127.0.0.1', port, method, path, headers }, (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers);
    (lies ? found.pipe(otherByte()) : found).pipe(answer);
  });
  passed.once('error', () => answer.destroy());
  asked.pipe(passed);
}

function otherByte(): Transform {
  let isFirst = true;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const changed = Buffer.from(chunk);
      if (isFirst && changed.length > 0) changed[0] = (changed[0] ?? 0) ^ 1;
      isFirst = false;
      done(null, changed);
    },
  });
}
