import { connectApiServer } from '../../src/app/cluster/api-server-client.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { HttpApiServer } from '../../src/kubelet/cluster/http-api-server.ts';

/** A client on the ports of this machine, without a limit of its rate. */
export function connectTo(kubeconfig: string, log: Log = silentLog): Promise<HttpApiServer> {
  const options = { userAgent: 'nodelet-test', rate: { qps: 0, burst: 0 }, environment: { PATH: '/usr/bin:/bin' } };
  return connectApiServer(kubeconfig, options, { ...createLinuxHost(), log });
}
