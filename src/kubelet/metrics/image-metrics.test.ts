import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { imageChannel } from '../images/image-channel.ts';
import { imageSizeLabel, observeImages } from './image-metrics.ts';

const MIB = 1024 ** 2;
const PULL_BOUNDS = '1 5 10 20 30 60 120 180 240 300 360 480 600 900 1200 1800 2700 3600'.split(' ');

testPublished('images', {
  'requests, with what is known of them': {
    observe: observeImages,
    publish() {
      imageChannel.publish({ kind: 'requested', pullPolicy: 'IfNotPresent', isPresent: true, mustPull: false });
      imageChannel.publish({ kind: 'requested', pullPolicy: 'Always', isPresent: undefined, mustPull: undefined });
    },
    series: [
      'kubelet_image_manager_ensure_image_requests_total{present_locally="true",pull_policy="ifnotpresent",pull_required="false"} 1',
      'kubelet_image_manager_ensure_image_requests_total{present_locally="unknown",pull_policy="always",pull_required="unknown"} 1',
    ],
  },
  'a pull': {
    observe: observeImages,
    publish() {
      imageChannel.publish({ kind: 'pulling', podUid: 'a' });
      imageChannel.publish({ kind: 'pulled', podUid: 'a', tookMs: 4_000, bytes: 11 * MIB });
    },
    series: histogramSeries(
      'kubelet_image_pull_duration_seconds',
      'image_size_in_bytes="10MB-100MB"',
      PULL_BOUNDS,
      [4],
    ),
  },
  'whether a present image may be used': {
    observe: observeImages,
    publish: () => imageChannel.publish({ kind: 'accessChecked', result: 'mustAuthenticate' }),
    series: ['kubelet_imagemanager_image_mustpull_checks_total{result="mustAuthenticate"} 1'],
  },
  'credential providers': {
    observe: observeImages,
    publish() {
      imageChannel.publish({ kind: 'providerRan', provider: 'ecr', tookMs: 30, isError: false });
      imageChannel.publish({ kind: 'providerRan', provider: 'ecr', tookMs: 11_000, isError: true });
    },
    series: [
      ...histogramSeries(
        'kubelet_credential_provider_plugin_duration',
        'plugin_name="ecr"',
        DEFAULT_BOUNDS,
        [0.03, 11],
      ),
      'kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 1',
    ],
  },
  'images that were removed': {
    observe: observeImages,
    publish() {
      for (const reason of ['age', 'space', 'space'] as const) imageChannel.publish({ kind: 'collected', reason });
    },
    series: [
      'kubelet_image_garbage_collected_total{reason="age"} 1',
      'kubelet_image_garbage_collected_total{reason="space"} 2',
    ],
  },
});

const sizes: readonly (readonly [bytes: number, label: string])[] = [
  [0, 'N/A'],
  [1, '0-10MB'],
  [10 * MIB, '0-10MB'],
  [10 * MIB + 1, '10MB-100MB'],
  [600 * MIB, '500MB-1GB'],
  [7 * 1024 * MIB, '5GB-10GB'],
  [101 * 1024 * MIB, 'GT100GB'],
];
for (const [bytes, label] of sizes)
  test(`imageSizeLabel() of ${bytes} bytes`, () => assert.equal(imageSizeLabel(bytes), label));
