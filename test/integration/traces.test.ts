import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type OtlpCollector, startCollector } from '../traces/otlp-collector.ts';
import { drawTraces } from '../traces/trace-tree.ts';
import { podOn } from './cluster-fixture.ts';
import { startContainerd } from './containerd-fixture.ts';
import { startGoKubelet } from './go-kubelet.ts';
import { startNodeletNode } from './nodelet-node.ts';
import { startTestCluster } from './test-cluster.ts';

const NODE = 'node-1';
test('x', async () => {
  const collector = await startCollector();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://${collector.endpoint}`;
  process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'grpc';
  const config = { tracing: { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 } };
  let plane, stop;
  if (process.env['GO']) {
    const c = await startTestCluster(
      () => startContainerd({ version: 'v2' }),
      (p, { endpoint, cgroupParent }) => startGoKubelet({ plane: p, nodeName: NODE, endpoint, cgroupParent, config }),
    );
    plane = c.plane; stop = c.stop;
  } else {
    const node = await startNodeletNode(NODE, async () => ({ config }));
    plane = node.plane; stop = node.stop;
  }
  try {
    await plane.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'words', namespace: 'default' }, data: { a: 'b' } },
      podOn(NODE, 'web', { dnsPolicy: 'Default', volumes: [{ name: 'v', configMap: { name: 'words' } }], terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000'], volumeMounts: [{ name: 'v', mountPath: '/v' }] }] }));
    await plane.wait('web', 'condition=Ready');
    const nodeKubectl = await plane.kubectl('get', '--raw', `/api/v1/nodes/${NODE}/proxy/pods`).catch(String);
    await plane.kubectl('get', '--raw', `/api/v1/nodes/${NODE}/proxy/metrics`).catch(String);
    await plane.remove('web');
    await new Promise((r) => setTimeout(r, 12000));
  } finally { await stop(); }
  const show = (s) => ` [${s.service} ${s.kind} ${s.scope}] ${JSON.stringify(s.attributes)} ${s.error ?? ''}`;
  console.log(drawTraces(collector.spans, show).join('\n'));
  console.log(JSON.stringify([...new Set(collector.spans.map((s) => JSON.stringify(s.resource)))]));
  collector.close();
});
