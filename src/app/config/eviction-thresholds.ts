import { parseDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity, type Quantity } from '../../base/quantity.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';

/** What an eviction looks at. */
export type EvictionSignal = (typeof SIGNALS)[number];

/** An absolute amount, or a share of the capacity between 0 and 1. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/** Pods are evicted once less than `value` is left, for as long as `gracePeriodMs`. */
export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** None for hard thresholds. */
  readonly gracePeriodMs: number;
  /** What to free at least, beyond the threshold. */
  readonly minimumReclaim?: ThresholdValue;
}

export const SIGNALS = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'allocatableMemory.available',
  'pid.available',
] as const;

type EvictionFields = Pick<
  KubeletConfiguration,
  'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim'
>;

/** Hard thresholds, then soft ones. What is wrong with one is in `messages`, and it is left out. */
export function parseEvictionThresholds(config: EvictionFields): {
  readonly thresholds: readonly EvictionThreshold[];
  readonly messages: readonly string[];
} {
  const messages: string[] = [];
  const hard = readEach(config.evictionHard, parseThreshold, messages);
  const soft = readEach(config.evictionSoft, parseThreshold, messages);
  const graces = readEach(config.evictionSoftGracePeriod, parseGracePeriod, messages);
  const reclaims = readEach(config.evictionMinimumReclaim, parseReclaim, messages);
  const threshold = (signal: EvictionSignal, value: ThresholdValue, gracePeriodMs: number): EvictionThreshold => {
    const minimumReclaim = reclaims.get(signal);
    return { signal, value, gracePeriodMs, ...(minimumReclaim === undefined ? {} : { minimumReclaim }) };
  };
  const thresholds = [...hard].map(([signal, value]) => threshold(signal, value, 0));
  for (const [signal, value] of soft) {
    const grace = graces.get(signal);
    if (grace !== undefined) thresholds.push(threshold(signal, value, grace));
    else if (config.evictionSoftGracePeriod?.[signal] === undefined) {
      messages.push(`grace period must be specified for the soft eviction threshold ${signal}`);
    }
  }
  return { thresholds, messages };
}

export function evictionErrors(config: EvictionFields): readonly string[] {
  return parseEvictionThresholds(config).messages;
}

type Parse<T> = (signal: EvictionSignal, text: string) => T | undefined;

function readEach<T>(
  statements: Readonly<Record<string, string>> | undefined,
  parse: Parse<T>,
  messages: string[],
): Map<EvictionSignal, T> {
  const read = new Map<EvictionSignal, T>();
  for (const [name, text] of Object.entries(statements ?? {})) {
    const signal = SIGNALS.find((each) => each === name);
    if (signal === undefined) {
      messages.push(`unsupported eviction signal ${name}`);
      continue;
    }
    try {
      const value = parse(signal, text);
      if (value !== undefined) read.set(signal, value);
    } catch (error) {
      messages.push(errorText(error));
    }
  }
  return read;
}

/** `undefined` for 0% and 100%, which turn a threshold off. */
function parseThreshold(signal: EvictionSignal, text: string): ThresholdValue | undefined {
  if (text === '0%' || text === '100%') return undefined;
  if (text.endsWith('%')) {
    const fraction = parsePercentage(text);
    if (fraction < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (fraction > 1) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { fraction };
  }
  const quantity = parseQuantity(text);
  if (quantity.isNegative() || quantity.isZero()) {
    throw new Error(`eviction threshold ${signal} must be positive: ${quantity}`);
  }
  return { quantity };
}

function parseGracePeriod(_signal: EvictionSignal, text: string): number {
  const ms = parseDurationMs(text);
  if (ms < 0) throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return ms;
}

function parseReclaim(signal: EvictionSignal, text: string): ThresholdValue {
  if (text.endsWith('%')) {
    const fraction = parsePercentage(text);
    if (fraction <= 0) throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    return { fraction };
  }
  const quantity = parseQuantity(text);
  if (quantity.isNegative()) throw new Error(`negative eviction minimum reclaim specified for ${signal}`);
  return { quantity };
}

function parsePercentage(text: string): number {
  const digits = text.replace(/%+$/, '');
  if (!/^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/.test(digits)) {
    throw new Error(`strconv.ParseFloat: parsing ${JSON.stringify(digits)}: invalid syntax`);
  }
  return Number(digits) / 100;
}
