import { after, before, describe } from 'node:test';
import { containerContract } from './container-contract.ts';
import { eventContract } from './event-contract.ts';
import { imageContract } from './image-contract.ts';
import { sandboxContract } from './sandbox-contract.ts';
import type { Subject } from './subject.ts';

/** What every runtime must keep that the agent can rely on, the in-memory one included. */
export function criContract(name: string, make: () => Promise<Subject>, skip: string | false = false): void {
  describe(`the CRI contract, kept by ${name}`, { skip }, () => {
    let subject: Subject;
    before(async () => {
      subject = await make();
    });
    after(() => subject?.stop());
    sandboxContract(() => subject);
    containerContract(() => subject);
    imageContract(() => subject);
    eventContract(() => subject);
  });
}
