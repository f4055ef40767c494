import { criEvents } from '../../src/cri/cri-events.ts';
import { criContract } from '../contract/cri/cri-contract.ts';
import { containerd2Errors } from '../contract/cri/expected-errors.ts';
import { skipReason, startContainerd } from './containerd-fixture.ts';
import { containerdSubject } from './containerd-subject.ts';

criContract(
  'containerd 2',
  async () => {
    const containerd = await startContainerd({ version: 'v2' });
    const subject = containerdSubject(containerd);
    return {
      ...subject,
      events: criEvents(subject.cri.runtime),
      unpullable: '127.0.0.1:1/absent:1',
      errors: containerd2Errors(),
      async stop() {
        await subject.stop();
        await containerd.stop();
      },
    };
  },
  skipReason('v2'),
);
