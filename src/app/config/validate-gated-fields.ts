import { parseDurationMs } from '../../base/duration.ts';
import { referenceError, withoutTagAndDigest } from '../../base/image-name.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import type { IsOn } from './honoured-gates.ts';

/** Objections to fields that hang on a feature gate. */
export function gatedFieldErrors(config: KubeletConfiguration, isOn: IsOn): readonly string[] {
  return [
    ...shutdownErrors(config, isOn),
    ...crashLoopErrors(config, isOn),
    ...pulledImageErrors(config, isOn),
    ...memoryErrors(config, isOn),
    ...serverErrors(config, isOn),
  ].map((message) => `invalid configuration: ${message}`);
}

function* shutdownErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority = [] } = config;
  const whole = parseDurationMs(shutdownGracePeriod);
  const critical = parseDurationMs(shutdownGracePeriodCriticalPods);
  if (isOn('GracefulNodeShutdown')) {
    if (critical > whole) {
      yield `shutdownGracePeriodCriticalPods ${shutdownGracePeriodCriticalPods} must be <= shutdownGracePeriod ${shutdownGracePeriod}`;
    }
    if (whole !== 0 && whole < 1000) {
      yield `shutdownGracePeriod ${shutdownGracePeriod} must be either zero or otherwise >= 1 sec`;
    }
    if (critical !== 0 && critical < 1000) {
      yield `shutdownGracePeriodCriticalPods ${shutdownGracePeriodCriticalPods} must be either zero or otherwise >= 1 sec`;
    }
  } else if (whole > 0 || critical > 0) {
    yield 'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown';
  }
  if (shutdownGracePeriodByPodPriority.length === 0) return;
  if (!isOn('GracefulNodeShutdownBasedOnPodPriority')) {
    yield 'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority';
  } else if (whole > 0 || critical > 0) {
    yield 'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time';
  }
}

function* crashLoopErrors({ crashLoopBackOff }: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const period = crashLoopBackOff.maxContainerRestartPeriod;
  const gate = 'KubeletCrashLoopBackOffMax';
  if (!isOn(gate)) {
    if (period === undefined) return;
    yield `FeatureGate ${gate} not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set`;
  } else if (period === undefined) {
    yield `FeatureGate ${gate} is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set`;
  } else {
    const ms = parseDurationMs(period);
    if (Math.trunc(ms) >= 1000 && Math.trunc(ms) <= 300_000) return;
    yield `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${ms / 1000} seconds) must be set between 1s and 300s`;
  }
}

const VERIFICATION_POLICIES = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
];

function* pulledImageErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const { imagePullCredentialsVerificationPolicy: policy = '', preloadedImagesVerificationAllowlist = [] } = config;
  const gate = 'KubeletEnsureSecretPulledImages';
  if (!isOn(gate)) {
    const words = `must not be set if ${gate} feature gate is not enabled`;
    if (policy !== '') yield `\`imagePullCredentialsVerificationPolicy\` ${words}`;
    if (preloadedImagesVerificationAllowlist.length > 0) yield `\`preloadedImagesVerificationAllowlist\` ${words}`;
    return;
  }
  if (!VERIFICATION_POLICIES.includes(policy)) {
    yield `option "${policy}" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`;
  }
  if (preloadedImagesVerificationAllowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    yield 'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"';
    return;
  }
  const message = preloadedImagesVerificationAllowlist.map(imagePatternError).find((each) => each !== undefined);
  if (message !== undefined) yield `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${message}`;
}

/** A repository without tag or digest, or a prefix that ends in `/*`. */
function imagePatternError(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith('/*');
  const stem = isWildcard ? pattern.slice(0, -1) : pattern;
  if (stem === '') return `the supplied pattern is too short: ${pattern}`;
  if (stem.includes('*')) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isWildcard) return stem === '/' ? 'at least registry hostname is required' : undefined;
  const message = referenceError(stem);
  if (message !== undefined) return `failed to parse as an image name: ${message}`;
  if (stem !== withoutTagAndDigest(stem)) return `neither tag nor digest is accepted in an image reference: ${pattern}`;
  return undefined;
}

function* memoryErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  const { memoryReservationPolicy: policy, memorySwap } = config;
  const swap = memorySwap.swapBehavior ?? '';
  if (!['', 'NoSwap', 'LimitedSwap'].includes(swap)) {
    yield `memorySwap.swapBehavior "${swap}" must be one of: "", "LimitedSwap" or "NoSwap"`;
  }
  if (policy === 'TieredReservation' && !isOn('MemoryQoS')) {
    yield `memoryReservationPolicy "${policy}" requires MemoryQoS feature gate to be enabled`;
  }
  if (policy !== 'None' && policy !== 'TieredReservation') {
    yield `option "${policy}" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`;
  }
}

function* serverErrors(config: KubeletConfiguration, isOn: IsOn): Generator<string> {
  if (config.serverTLSBootstrap && !isOn('RotateKubeletServerCertificate')) {
    yield 'serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate';
  }
  if (config.enableSystemLogQuery && !config.enableSystemLogHandler) {
    yield 'enableSystemLogHandler is required for enableSystemLogQuery';
  }
}
