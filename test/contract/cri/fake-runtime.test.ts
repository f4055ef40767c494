import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCri } from '../../../src/cri/client.ts';
import { criEvents } from '../../../src/cri/cri-events.ts';
import { createFakeRuntime } from '../../../src/cri/fake/fake-runtime.ts';
import { SeededRandom } from '../../../src/host/fake/seeded-random.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { criContract } from './cri-contract.ts';
import { containerdErrors, imageMountErrors } from './expected-errors.ts';
import { PROGRAMS } from './programs.ts';
import { serveForTest } from './serve-for-test.ts';
import type { Subject } from './subject.ts';

const IMAGE = 'localhost/contract:1';

function fakeSubject(): Subject {
  const logDirectory = mkdtempSync(join(tmpdir(), 'nodelet-fake-'));
  const fake = createFakeRuntime({ clock: linuxClock, random: new SeededRandom(1), fs: linuxFileSystem });
  for (const [name, { behaviour }] of Object.entries(PROGRAMS)) fake.behaviours.set(name, behaviour);
  fake.addImage(IMAGE);
  return {
    cri: fake.cri,
    events: criEvents(fake.cri.runtime),
    image: IMAGE,
    unpullable: 'localhost/absent:1',
    errors: { ...containerdErrors('NotFound'), ...imageMountErrors },
    logDirectory,
    cgroupParent: '/contract',
    readLog: (path) => readFile(path, 'utf8'),
    stop: async () => rmSync(logDirectory, { recursive: true }),
  };
}

criContract('the in-memory runtime', async () => fakeSubject());

criContract('the in-memory runtime behind our server and client', async () => {
  const inner = fakeSubject();
  const { server, endpoint, options } = await serveForTest(inner.cri);
  const client = connectCri(endpoint, options);
  return {
    ...inner,
    cri: client,
    events: criEvents(client.runtime),
    async stop() {
      client.close();
      await server.close();
      await inner.stop();
    },
  };
});
