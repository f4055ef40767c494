import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTool } from '../integration/cluster-tools.ts';
import { end, launch, started } from '../integration/daemon-fixture.ts';

export interface DraTestDriverPlan {
  readonly name: string;
  readonly nodeName: string;
  readonly kubeconfig: string;
  /** kubelet's root directory. */
  readonly rootDir: string;
  readonly cdiDir: string;
}

/** A process of the driver with which Kubernetes tests DRA. It forgets its claims when it ends; their CDI files stay. */
export interface DraTestDriver {
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  /** The number of calls of the RPC so far, of all processes. */
  calls(rpc: 'NodePrepareResources' | 'NodeUnprepareResources'): number;
}

export function draTestDriver({ name, nodeName, kubeconfig, rootDir, cdiDir }: DraTestDriverPlan): DraTestDriver {
  const logPath = join(rootDir, `${name}.log`);
  const registry = join(rootDir, 'plugins_registry');
  const log = (): string => (existsSync(logPath) ? readFileSync(logPath, 'utf8') : '');
  let daemon: ChildProcess | undefined;
  return {
    async start() {
      for (const folder of [registry, join(rootDir, 'plugins', name)]) mkdirSync(folder, { recursive: true });
      const before = log().length;
      const command = [
        clusterTool('dra-test-driver'),
        'kubelet-plugin',
        `--kubeconfig=${kubeconfig}`,
        `--drivername=${name}`,
        `--node-name=${nodeName}`,
        `--plugin-registration-path=${registry}`,
        `--datadir=${join(rootDir, 'plugins')}`,
        `--cdi-dir=${cdiDir}`,
        '-v=6', // shows each call
      ];
      const isReady = async (): Promise<boolean> => log().slice(before).includes('Waiting for signal');
      daemon = await started(launch(command, logPath), isReady, logPath);
    },
    async stop(signal) {
      if (daemon) await end(daemon, signal);
      daemon = undefined;
    },
    calls: (rpc) => {
      const isCall = (line: string): boolean => line.includes('"handling request"') && line.includes(`/${rpc}"`);
      return log().split('\n').filter(isCall).length;
    },
  };
}
