import type { SpecResult } from './spec-report.ts';

/** The results of one subject. */
export interface SubjectResults {
  readonly title: string;
  readonly specs: readonly SpecResult[];
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Of the passed ones, those that passed at a further attempt only. */
  readonly atFurtherAttempt: number;
}

/** A spec that the reference passes and a subject does not. */
export interface Difference {
  readonly name: string;
  /** `missing`: it has no result, because the run ended before. */
  readonly state: 'failed' | 'skipped' | 'missing';
  readonly message: string;
}

export function countStates(specs: readonly SpecResult[]): Counts {
  const count = (state: SpecResult['state']): number => specs.filter((spec) => spec.state === state).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    atFurtherAttempt: specs.filter(({ state, attempts }) => state === 'passed' && attempts > 1).length,
  };
}

/** Specs that the reference passes and the subject does not, by name. */
export function differences(reference: readonly SpecResult[], subject: readonly SpecResult[]): readonly Difference[] {
  const own = new Map(subject.map((spec) => [spec.name, spec]));
  return reference
    .filter(({ state }) => state === 'passed')
    .flatMap(({ name }): Difference[] => {
      const result = own.get(name);
      if (result === undefined) return [{ name, state: 'missing', message: '' }];
      const { state, message } = result;
      return state === 'passed' ? [] : [{ name, state, message }];
    });
}
