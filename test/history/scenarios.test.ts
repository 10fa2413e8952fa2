import { describe, expect, it } from 'vitest';
import { OBSERVER, Scene, type SceneOptions, STANDBY } from '../support/history/scene.ts';
import * as scenes from '../support/history/scenes.ts';

/*
 * One thing goes wrong at a time, and clients notice nothing but that an answer takes longer. seeded-faults.test.ts plays the same scenes with
 * rules of the router switched off.
 */

const { SHORT_PATIENCE, SHORT_REFRESH } = scenes;

/** Plays it: every operation must succeed, and no rule be broken. */
async function stage(play: (scene: Scene) => Promise<void>, options: SceneOptions = {}): Promise<Scene> {
  const scene = await Scene.start(options);
  try {
    await play(scene);
    expect(scene.report.text).toContain(' 0 more failed), 0 violations');
    return scene;
  } catch (error) {
    await scene[Symbol.asyncDispose]();
    throw error;
  }
}

describe('a client', () => {
  it('reads at an observer that lags behind others, and waits for it no longer than it must', async () => {
    await using scene = await Scene.start();
    const reader = scene.connect('federated');
    await reader.read(0, 0);
    await scene.control({ op: 'lag', ...OBSERVER, paused: true });
    await scene.connect('federated').write(1, 0);
    await reader.read(0, 0);
    expect(await scene.readsAt(OBSERVER)).toBe(1);
    expect(scene.report.count).toBe(0);
  });

  it('reads its own write, which the observer does not have, through both routers', async () => {
    await using _ = await stage(scenes.writeAndRead, { keys: SHORT_PATIENCE });
  });

  it('reads again what it has seen at the active', async () => {
    await using _ = await stage(scenes.readTwice, { keys: SHORT_PATIENCE });
  });

  it('without state reads what is newest', async () => {
    await using _ = await stage(scenes.readPlain);
  });

  it('sees after an msync what others wrote before', async () => {
    await using _ = await stage(scenes.msyncAndRead, { keys: SHORT_PATIENCE });
  });

  it('is not left behind for longer than the refresh period', async () => {
    await using _ = await stage(scenes.readOnAndOn, { keys: SHORT_REFRESH, freshMs: scenes.FRESH_MS });
  });
});

describe('without state ids', () => {
  it('an observer is none', async () => {
    await using _ = await stage(scenes.observerWithoutStateIds, { keys: SHORT_PATIENCE });
  });

  it('an active makes the state unknown', async () => {
    await using _ = await stage(scenes.activeWithoutStateIds, { keys: SHORT_PATIENCE });
  });

  it('an observer does not answer while nobody is active', async () => {
    await using _ = await stage(scenes.nobodyActive);
  });
});

describe('a fenced active that answers reads', () => {
  it('does not take a client back in time', async () => {
    await using scene = await stage(scenes.fencedActive, { keys: SHORT_PATIENCE });
    expect(await scene.readsAt(STANDBY)).toBe(1);
  });
});
