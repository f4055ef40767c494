import { didYouMean } from './closest-name.ts';
import type { ConfigDiagnostic } from './config-diagnostic.ts';
import { FEATURE_GATES, type FeatureGateSpec } from './generated/feature-gates.ts';
import { type JsonValue, objectOf } from './json-value.ts';

/** Gates as they were set: name → on. */
export type GateSettings = Readonly<Record<string, boolean>>;

export interface ResolvedGates {
  /** Every known gate, AllAlpha and AllBeta worked in. */
  readonly gates: ReadonlyMap<string, boolean>;
  readonly diagnostics: readonly ConfigDiagnostic[];
}

/** Gates that stand for every other one of a stage. */
export const ALL_OF_STAGE: Partial<Record<FeatureGateSpec['stage'], string>> = { ALPHA: 'AllAlpha', BETA: 'AllBeta' };

/** Checks what was set and works out every gate. A gate that was set wrongly keeps its default. */
export function resolveFeatureGates(settings: GateSettings): ResolvedGates {
  const diagnostics: ConfigDiagnostic[] = [];
  const taken: Record<string, boolean> = {};
  for (const [name, value] of Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const spec = FEATURE_GATES.get(name);
    const diagnostic = gateDiagnostic(name, settings, spec);
    if (diagnostic) diagnostics.push(diagnostic);
    if (spec && diagnostic?.severity !== 'error') taken[name] = value;
  }
  const gates = new Map([...FEATURE_GATES.keys()].map((name) => [name, isGateOn(taken, name)]));
  for (const [name, { needs }] of FEATURE_GATES) {
    const off = needs.filter((need) => !gates.get(need));
    if (!gates.get(name) || off.length === 0) continue;
    diagnostics.push(
      gateError(name, `${name} is enabled, but depends on features that are disabled: [${off.join(' ')}]`),
    );
  }
  return { gates, diagnostics: diagnostics };
}

/** Whether the settings turn on a gate of another component that a gate of the node depends on. */
function isNeeded(name: string, settings: GateSettings): boolean {
  if (!settings[name]) return false;
  return [...FEATURE_GATES].some(([gate, { node, needs }]) => node && needs.includes(name) && isGateOn(settings, gate));
}

/** The gates that a map of them sets. */
export function gateSettings(value: JsonValue | undefined): GateSettings {
  const settings: Record<string, boolean> = {};
  for (const [name, on] of Object.entries(objectOf(value))) if (typeof on === 'boolean') settings[name] = on;
  return settings;
}

/** What these settings make of a gate: its own setting, else that of its stage, else its default. */
export function isGateOn(settings: GateSettings, name: string): boolean {
  const spec = FEATURE_GATES.get(name);
  if (!spec) return false;
  if (spec.locked) return spec.default;
  const all = Object.values(ALL_OF_STAGE).includes(name) ? undefined : ALL_OF_STAGE[spec.stage];
  return settings[name] ?? (all === undefined ? undefined : settings[all]) ?? spec.default;
}

function gateDiagnostic(
  name: string,
  settings: GateSettings,
  spec: FeatureGateSpec | undefined,
): ConfigDiagnostic | undefined {
  const value = settings[name] ?? false;
  if (!spec) return gateError(name, `unrecognized feature gate: ${name}${didYouMean(name, FEATURE_GATES.keys())}`);
  if (spec.locked && value !== spec.default) {
    return gateError(name, `cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`);
  }
  if (spec.stage === 'GA' || spec.stage === 'DEPRECATED') {
    const stage = spec.stage === 'GA' ? 'GA' : 'deprecated';
    return gateWarning(name, `setting ${stage} feature gate ${name}=${value}; it will be removed in a future release`);
  }
  return spec.node || isNeeded(name, settings)
    ? undefined
    : gateWarning(name, `feature gate ${name} has no meaning in Nodelet and is ignored`);
}

function gateError(name: string, message: string): ConfigDiagnostic {
  return { severity: 'error', path: `featureGates["${name}"]`, message };
}

function gateWarning(name: string, message: string): ConfigDiagnostic {
  return { severity: 'warning', path: `featureGates["${name}"]`, message };
}
