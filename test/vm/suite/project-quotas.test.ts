/** Project quotas of ext4, which many kernels of test machines are built without. */
import { linuxQuotasWorld, projectQuotasContract } from '../../contract/host/project-quotas-contract.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

projectQuotasContract('linux', linuxQuotasWorld, systemdSkipReason());
