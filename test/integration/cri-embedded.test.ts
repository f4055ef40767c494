import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { criEvents } from '../../src/cri/cri-events.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { criContract } from '../contract/cri/cri-contract.ts';
import { nodeletErrors } from '../contract/cri/expected-errors.ts';
import { embeddedSkipReason, startEmbedded } from './runtime-fixture.ts';

criContract(
  'nodelet cri',
  async () => {
    const runtime = await startEmbedded();
    const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
    return {
      cri,
      events: criEvents(cri.runtime),
      image: BUSYBOX_IMAGE,
      unpullable: '127.0.0.1:1/absent:1',
      errors: nodeletErrors,
      logDirectory: join(runtime.folder, 'logs'),
      cgroupParent: runtime.cgroupParent,
      readLog: (path) => readFile(path, 'utf8'),
      async stop() {
        cri.close();
        await runtime.stop();
      },
    };
  },
  embeddedSkipReason(),
);
