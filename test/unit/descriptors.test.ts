import { describe, expect, it } from 'vitest';
import { judgeDescriptorLimit, readDescriptorLimit } from '../../src/control/descriptors.ts';
import type { Settings, Topology } from '../../src/shared/settings.ts';

const settings = { maxConnections: 1000, connectionsPerUser: 4, workers: 1 } as Settings;
const topology: Topology = {
  nameservices: [
    {
      id: 'ns0',
      namenodes: [
        { id: 'nn0', host: 'a', port: 1 },
        { id: 'nn1', host: 'b', port: 1 },
      ],
    },
  ],
};

describe('the limit of open files', () => {
  it('is read from the system', () => {
    expect(readDescriptorLimit()).toBeGreaterThan(0);
  });

  it('is fine when it covers clients and NameNode connections', () => {
    // 64 of our own, 1000 clients, 16 users × 4 connections × 2 NameNodes
    expect(judgeDescriptorLimit(1192, settings, topology)).toBeNull();
    expect(judgeDescriptorLimit(null, settings, topology)).toBeNull();
  });

  it('is warned about with what would be needed', () => {
    expect(judgeDescriptorLimit(1191, settings, topology)).toContain('need 1192');
  });
});
