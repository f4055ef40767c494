import { containerdEvents } from '../../src/cri/containerd-events.ts';
import { linuxRandom } from '../../src/host/linux/linux-random.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { criContract } from '../contract/cri/cri-contract.ts';
import { skipReason, startContainerd } from './containerd-fixture.ts';
import { containerdSubject } from './containerd-subject.ts';

criContract(
  'containerd',
  async () => {
    const containerd = await startContainerd();
    const { endpoint } = containerd;
    const subject = containerdSubject(containerd);
    const { runtime } = subject.cri;
    return {
      ...subject,
      events: containerdEvents({ endpoint, runtime, clock: linuxClock, random: linuxRandom }),
      unpullable: '127.0.0.1:1/absent:1',
      async stop() {
        await subject.stop();
        await containerd.stop();
      },
    };
  },
  skipReason(),
);
