import { histogramSeries, type PublishedCase, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { certificateChannel } from '../certificates/certificate-channel.ts';
import { observeCertificates, type RotatedCertificates } from './certificate-metrics.ts';

const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVER = 'kubernetes.io/kubelet-serving';
const BOUNDS = '60 3600 14400 86400 604800 2.592e+06 7.776e+06 1.5552e+07 3.1104e+07 1.24416e+08'.split(' ');
const clock = { now: () => 1_000_000 };

const observing = (rotated: RotatedCertificates): PublishedCase['observe'] => {
  return (registry) => observeCertificates(registry, rotated, clock);
};
const both = observing({ client: true, server: true });

testPublished('certificates of the node', {
  'the client certificate is in use': {
    observe: both,
    publish: () =>
      certificateChannel.publish({
        kind: 'inUse',
        signerName: CLIENT,
        validUntilMs: 1_090_900,
        replacedAgeMs: undefined,
      }),
    series: ['kubelet_certificate_manager_client_ttl_seconds 90'],
  },
  'a serving certificate that has expired replaced one of two hours': {
    observe: both,
    publish: () =>
      certificateChannel.publish({
        kind: 'inUse',
        signerName: SERVER,
        validUntilMs: 995_000,
        replacedAgeMs: 7_200_000,
      }),
    series: [
      ...histogramSeries('kubelet_certificate_manager_server_rotation_seconds', '', BOUNDS, [7200]),
      'kubelet_certificate_manager_server_ttl_seconds -5',
    ],
  },
  'certificates that could not be renewed': {
    observe: both,
    publish() {
      for (const signerName of [CLIENT, SERVER, SERVER])
        certificateChannel.publish({ kind: 'renewFailed', signerName });
    },
    series: [
      'kubelet_certificate_manager_client_expiration_renew_errors 1',
      'kubelet_server_expiration_renew_errors 2',
    ],
  },
  'certificates that the node does not rotate have no metrics': {
    observe: observing({ client: false, server: false }),
    publish: () => certificateChannel.publish({ kind: 'renewFailed', signerName: CLIENT }),
    series: [],
  },
});
