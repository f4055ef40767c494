import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGateOn } from './feature-gates.ts';
import { type ConfigCase, errorsAfter, HEALTHY } from './healthy-config.fixture.ts';
import { gatedFieldErrors } from './validate-gated-fields.ts';

const cases: Record<string, ConfigCase> = {
  'gives critical pods a part of the time': {
    change: { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '1m0s' },
    messages: ['invalid configuration: shutdownGracePeriodCriticalPods 1m0s must be <= shutdownGracePeriod 30s'],
  },
  'gives a second at least': {
    change: { shutdownGracePeriod: '500ms', shutdownGracePeriodCriticalPods: '100ms' },
    messages: [
      'invalid configuration: shutdownGracePeriod 500ms must be either zero or otherwise >= 1 sec',
      'invalid configuration: shutdownGracePeriodCriticalPods 100ms must be either zero or otherwise >= 1 sec',
    ],
  },
  'shuts down with grace only by its gate': {
    change: { shutdownGracePeriod: '30s' },
    gates: { GracefulNodeShutdown: false },
    messages: [
      'invalid configuration: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    ],
  },
  'shuts down by priority or by class, not by both': {
    change: {
      shutdownGracePeriod: '30s',
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 5 }],
    },
    messages: [
      'invalid configuration: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    ],
  },
  'shuts down by priority only by its gate': {
    change: { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 5 }] },
    gates: { GracefulNodeShutdownBasedOnPodPriority: false },
    messages: [
      'invalid configuration: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    ],
  },
  'backs off for a second at least': {
    change: { crashLoopBackOff: { maxContainerRestartPeriod: '500ms' } },
    messages: [
      'invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) must be set between 1s and 300s',
    ],
  },
  'backs off for five minutes at most': {
    change: { crashLoopBackOff: { maxContainerRestartPeriod: '5m1s' } },
    messages: [
      'invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s',
    ],
  },
  'must know how long to back off': {
    change: { crashLoopBackOff: {} },
    messages: [
      'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set',
    ],
  },
  'backs off as expected only by its gate': {
    change: { crashLoopBackOff: { maxContainerRestartPeriod: '10s' } },
    gates: { KubeletCrashLoopBackOffMax: false },
    messages: [
      'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
    ],
  },
  'knows the ways to verify pulled images': {
    change: { imagePullCredentialsVerificationPolicy: 'Sometimes' },
    messages: [
      'invalid configuration: option "Sometimes" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"',
    ],
  },
  'wants a list of images only where it is used': {
    change: { preloadedImagesVerificationAllowlist: ['a/b'] },
    messages: [
      'invalid configuration: can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ],
  },
  'verifies pulled images only by its gate': {
    change: { preloadedImagesVerificationAllowlist: ['a/b'] },
    gates: { KubeletEnsureSecretPulledImages: false },
    messages: [
      'invalid configuration: `imagePullCredentialsVerificationPolicy` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
      'invalid configuration: `preloadedImagesVerificationAllowlist` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
    ],
  },
  'knows the ways to swap': {
    change: { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    messages: [
      'invalid configuration: memorySwap.swapBehavior "UnlimitedSwap" must be one of: "", "LimitedSwap" or "NoSwap"',
    ],
  },
  'reserves memory in tiers only by its gate': {
    change: { memoryReservationPolicy: 'TieredReservation' },
    messages: [
      'invalid configuration: memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
    ],
  },
  'reserves memory in tiers': {
    change: { memoryReservationPolicy: 'TieredReservation' },
    gates: { MemoryQoS: true },
    messages: [],
  },
  'knows the ways to reserve memory': {
    change: { memoryReservationPolicy: 'x' },
    messages: [
      'invalid configuration: option "x" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"',
    ],
  },
  'bootstraps its certificate only by its gate': {
    change: { serverTLSBootstrap: true },
    gates: { RotateKubeletServerCertificate: false },
    messages: ['invalid configuration: serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate'],
  },
  'queries logs through their handler': {
    change: { enableSystemLogQuery: true, enableSystemLogHandler: false },
    messages: ['invalid configuration: enableSystemLogHandler is required for enableSystemLogQuery'],
  },
};

for (const [name, each] of Object.entries(cases)) {
  test(`gatedErrors() ${name}`, () => {
    assert.deepEqual(errorsAfter(gatedFieldErrors, each), each.messages);
  });
}

const patterns: Record<string, string | undefined> = {
  'registry.example/app': undefined,
  'registry.example:5000/app': undefined,
  'registry.example/*': undefined,
  ' a': 'leading/trailing spaces are not allowed:  a',
  '': 'the supplied pattern is too short: ',
  'a*': "not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*",
  '/*': 'at least registry hostname is required',
  'a/B': 'failed to parse as an image name: repository name must be lowercase',
  'a b': 'failed to parse as an image name: invalid reference format',
  'a/b:1': 'neither tag nor digest is accepted in an image reference: a/b:1',
};

for (const [pattern, message] of Object.entries(patterns)) {
  test(`gatedErrors() ${message === undefined ? 'accepts' : 'refuses'} the pattern "${pattern}"`, () => {
    const config = {
      ...HEALTHY,
      imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
      preloadedImagesVerificationAllowlist: [pattern],
    };
    const prefix = 'invalid configuration: invalid image pattern in `preloadedImagesVerificationAllowlist`:';
    assert.deepEqual(
      gatedFieldErrors(config, (gate) => isGateOn({}, gate)),
      message === undefined ? [] : [`${prefix} ${message}`],
    );
  });
}
