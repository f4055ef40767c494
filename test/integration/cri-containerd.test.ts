import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { containerdEvents } from '../../src/cri/containerd-events.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import { linuxRandom } from '../../src/host/linux/linux-random.ts';
import { criContract } from '../contract/cri/cri-contract.ts';
import { containerdRefusals } from '../contract/cri/refusals.ts';
import { skipReason, startContainerd } from './containerd-fixture.ts';

criContract(
  'containerd',
  async () => {
    const containerd = await startContainerd();
    const { endpoint } = containerd;
    const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
    return {
      cri,
      events: containerdEvents({ endpoint, runtime: cri.runtime, clock: linuxClock, random: linuxRandom }),
      image: BUSYBOX_IMAGE,
      unpullable: '127.0.0.1:1/absent:1',
      refusals: containerdRefusals('Unknown'),
      logDirectory: join(containerd.folder, 'logs'),
      cgroupParent: containerd.cgroupParent,
      readLog: (path) => readFile(path, 'utf8'),
      async stop() {
        cri.close();
        await containerd.stop();
      },
    };
  },
  skipReason(),
);
