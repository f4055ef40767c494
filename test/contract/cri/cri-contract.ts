import { after, before, describe } from 'node:test';
import { containerContract } from './container-contract.ts';
import { eventContract } from './event-contract.ts';
import { imageContract } from './image-contract.ts';
import { sandboxContract } from './sandbox-contract.ts';
import type { Subject } from './subject.ts';

/** The contract of every runtime that the agent can use, including the in-memory one. */
export function criContract(name: string, make: () => Promise<Subject>, skip: string | false = false): void {
  describe(`the CRI contract of ${name}`, { skip }, () => {
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
