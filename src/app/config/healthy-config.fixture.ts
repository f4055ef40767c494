import { isGateOn } from './feature-gates.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { mergeConfig } from './merge-config.ts';

/** The configuration without any settings. */
export const HEALTHY = mergeConfig({ file: {}, dropIns: [], flags: [] });

/** A change of a healthy configuration, and its errors. */
export interface ConfigCase {
  readonly change: Partial<KubeletConfiguration>;
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly messages: readonly string[];
}

type ConfigErrors = (config: KubeletConfiguration, isOn: (gate: string) => boolean) => readonly string[];

/** The errors of a part of the validation after this change. */
export function errorsAfter(errors: ConfigErrors, { change, gates = {} }: ConfigCase): readonly string[] {
  return errors({ ...HEALTHY, ...change }, (gate) => isGateOn(gates, gate));
}
