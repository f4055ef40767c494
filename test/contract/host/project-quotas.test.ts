/** The contract of project quotas. */
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { linuxQuotasWorld, projectQuotasContract, quotasSkipReason } from './project-quotas-contract.ts';

projectQuotasContract('linux', linuxQuotasWorld, await quotasSkipReason());
projectQuotasContract('memory', async () => {
  const { fs, projectQuotas } = createMemoryHost();
  for (const each of ['/counting', '/plain']) await fs.makeDirectory(each);
  projectQuotas.countBelow('/counting');
  return { quotas: projectQuotas, fs, counting: '/counting', plain: '/plain', sync: () => undefined };
});
