import { type ConfigDiagnostic, warningAt } from './config-diagnostic.ts';
import { ALL_OF_STAGE, type GateSettings, isGateOn } from './feature-gates.ts';
import { FEATURE_GATES } from './generated/feature-gates.ts';

/** The feature gates that have an effect. Supporting another one means adding it here. */
export const HONOURED_GATES = [
  'CPUManagerPolicyAlphaOptions',
  'CPUManagerPolicyBetaOptions',
  'ClusterTrustBundleProjection',
  'ContainerStopSignals',
  'CustomCPUCFSQuotaPeriod',
  'DRAExtendedResource',
  'DisableCPUQuotaWithExclusiveCPUs',
  'EnvFiles',
  'ExtendWebSocketsToKubelet',
  'GracefulNodeShutdown',
  'GracefulNodeShutdownBasedOnPodPriority',
  'InPlacePodVerticalScalingExclusiveCPUs',
  'InPlacePodVerticalScalingExclusiveMemory',
  'KubeletCrashLoopBackOffMax',
  'KubeletEnsureSecretPulledImages',
  'KubeletPodResourcesListUseActivePods',
  'KubeletSeparateDiskGC',
  'KubeletServiceAccountTokenForCredentialProviders',
  'LoggingAlphaOptions',
  'LoggingBetaOptions',
  'MemoryQoS',
  'NodeDeclaredFeatures',
  'PodAndContainerStatsFromCRI',
  'PodCertificateRequest',
  'PodLogsQuerySplitStreams',
  'PreventStaticPodAPIReferences',
  'QOSReserved',
  'ResourceHealthStatus',
  'ResourceHealthStatusMessage',
  'TaintTolerationComparisonOperators',
] as const;

/** Gates that are only asked for to check fields of the configuration, which have no effect themselves. */
export const CHECKED_GATES = ['RotateKubeletServerCertificate'] as const;

type HonouredGate = (typeof HONOURED_GATES)[number];

/** The gates as the program sees them: those that are in no list cannot be asked for. */
export type FeatureGates = Pick<ReadonlyMap<HonouredGate, boolean>, 'get'>;
export type IsOn = (gate: HonouredGate | (typeof CHECKED_GATES)[number]) => boolean;

const HONOURED: ReadonlySet<string> = new Set(HONOURED_GATES);
const WHOLE_STAGES: ReadonlySet<string> = new Set(Object.values(ALL_OF_STAGE));
const IN_VAIN = 'has no effect in this version of Nodelet';

/** Warns about each gate that is set to a non-default value and has no effect. */
export function gatesNotHonoured(settings: GateSettings): readonly ConfigDiagnostic[] {
  return Object.keys(settings).flatMap((name) => {
    // Unknown gates and gates of other components were reported when the gates were validated.
    if (!FEATURE_GATES.get(name)?.node || HONOURED.has(name)) return [];
    const moved = movedBy(name, settings);
    if (moved.length === 0) return [];
    const works = moved.filter((gate) => HONOURED.has(gate));
    const exceptions = works.length === 0 ? '' : `, except on ${works.join(', ')}`;
    return [warningAt(`featureGates["${name}"]`, `${IN_VAIN}${exceptions}`)];
  });
}

/** The gates that this setting alone moves away from their defaults. */
function movedBy(name: string, settings: GateSettings): readonly string[] {
  const alone = { [name]: settings[name] ?? false };
  const gates = WHOLE_STAGES.has(name) ? [...FEATURE_GATES.keys()].filter((gate) => gate !== name) : [name];
  return gates.filter((gate) => isGateOn(alone, gate) !== FEATURE_GATES.get(gate)?.default);
}
