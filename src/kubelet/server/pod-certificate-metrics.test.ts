import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podCertificateMetrics } from './pod-certificate-metrics.ts';

test('podCertificateMetrics() has a sample for each signer and state, and nothing without a certificate', () => {
  const counts = [
    { signerName: 'a/b', state: 'fresh', count: 2 },
    { signerName: 'a/b', state: 'denied', count: 1 },
  ];
  const [metric] = podCertificateMetrics({ podCertificates: () => counts });
  assert.equal(metric?.name, 'kubelet_podcertificate_states');
  assert.deepEqual(metric?.type === 'gauge' && metric.samples, [
    { labels: { signer_name: 'a/b', state: 'fresh' }, value: 2 },
    { labels: { signer_name: 'a/b', state: 'denied' }, value: 1 },
  ]);
  assert.deepEqual(podCertificateMetrics({ podCertificates: () => [] }), []);
});
