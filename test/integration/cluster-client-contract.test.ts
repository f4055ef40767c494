/** The API server contract, with a real kube-apiserver behind the client. */
import { apiServerContract } from '../contract/cluster/api-server-contract.ts';
import { connectTo } from './cluster-client-fixture.ts';
import { clusterSkipReason, startControlPlane } from './cluster-fixture.ts';

apiServerContract(
  'kube-apiserver',
  async () => {
    const plane = await startControlPlane();
    const api = await connectTo(plane.kubeconfig());
    return {
      api,
      namespace: 'default',
      async stop() {
        api[Symbol.dispose]();
        await plane.stop();
      },
    };
  },
  clusterSkipReason(),
);
