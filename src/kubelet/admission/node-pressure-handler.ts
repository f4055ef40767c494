import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import { evictionRejection } from './eviction-rejection.ts';
import type { PodAdmitHandler } from './pod-admit-handler.ts';

const NONE: ReadonlySet<PressureCondition> = new Set();

/** Rejects pods while the node is under pressure. */
export const nodePressureHandler: PodAdmitHandler = (pod, { pressure = NONE }) => evictionRejection(pod, pressure);
