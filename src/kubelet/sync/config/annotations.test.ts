import assert from 'node:assert/strict';
import test from 'node:test';
import { containerAnnotations, containerLabels, sandboxLabels } from './annotations.ts';
import { exampleContainer, examplePod } from './pod.fixture.ts';

test('sandboxLabels() keeps the pod’s labels except where they claim another identity', () => {
  const labels = { app: 'hello', 'io.kubernetes.pod.uid': 'stolen' };
  assert.deepEqual(sandboxLabels(examplePod({ metadata: { labels } })), {
    app: 'hello',
    'io.kubernetes.pod.name': 'hello',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'u1',
  });
});

test('containerLabels() name the container and its pod', () => {
  assert.deepEqual(containerLabels(examplePod({ metadata: { labels: { app: 'hello' } } }), exampleContainer), {
    'io.kubernetes.container.name': 'web',
    'io.kubernetes.pod.name': 'hello',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'u1',
  });
});

test('containerAnnotations() hold what stopping and reporting need, as Go writes it', () => {
  const container = {
    ...exampleContainer,
    lifecycle: { preStop: { httpGet: { scheme: 'HTTP', port: 80, path: '/bye?a=1&b=2' } } },
    ports: [{ protocol: 'TCP', containerPort: 80, name: 'http', hostPort: 0 }],
  };
  const pod = examplePod({ metadata: { deletionGracePeriodSeconds: 5 } });
  assert.deepEqual(containerAnnotations(pod, container, 3), {
    'io.kubernetes.container.hash': containerAnnotations(pod, exampleContainer, 0)['io.kubernetes.container.hash'],
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.deletionGracePeriod': '5',
    'io.kubernetes.pod.terminationGracePeriod': '30',
    'io.kubernetes.container.preStopHandler': '{"httpGet":{"path":"/bye?a=1\\u0026b=2","port":80,"scheme":"HTTP"}}',
    'io.kubernetes.container.ports': '[{"name":"http","containerPort":80,"protocol":"TCP"}]',
  });
});
