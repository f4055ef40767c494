import { after, before, describe } from 'node:test';
import type { ApiWorld } from './api-world.ts';
import { deletionContract } from './deletion-contract.ts';
import { identityContract } from './identity-contract.ts';
import { objectContract } from './object-contract.ts';
import { statusContract } from './status-contract.ts';
import { watchContract } from './watch-contract.ts';

/** What the agent relies on in an API server, the one in memory included. */
export function apiServerContract(name: string, make: () => Promise<ApiWorld>, skip: string | false = false): void {
  describe(`the API server contract, kept by ${name}`, { skip }, () => {
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
