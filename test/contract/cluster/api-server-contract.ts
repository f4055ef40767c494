import { after, before, describe } from 'node:test';
import type { ApiWorld } from './api-world.ts';
import { deletionContract } from './deletion-contract.ts';
import { identityContract } from './identity-contract.ts';
import { objectContract } from './object-contract.ts';
import { statusContract } from './status-contract.ts';
import { watchContract } from './watch-contract.ts';

/** The agent’s requirements of an API server, for the real and the in-memory one. */
export function apiServerContract(name: string, make: () => Promise<ApiWorld>, skip: string | false = false): void {
  describe(`the API server contract of ${name}`, { skip }, () => {
    let world: ApiWorld;
    before(async () => {
      world = await make();
    });
    after(() => world?.stop());
    objectContract(() => world);
    statusContract(() => world);
    deletionContract(() => world);
    watchContract(() => world);
    identityContract(() => world);
  });
}
