import { SeededRandom } from '../../../src/host/fake/seeded-random.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { createMemoryApiServer } from '../../../src/kubelet/api-client/fake/memory-api-server.ts';
import { apiServerContract } from './api-server-contract.ts';

apiServerContract('the server in memory', async () => ({
  api: createMemoryApiServer({ clock: linuxClock, random: new SeededRandom(1) }),
  namespace: 'default',
  stop: async () => {},
}));
