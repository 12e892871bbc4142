"""All stories."""

from typing import Final

from tests.comparison.stories import custom, objects, pods, reading
from tests.comparison.story import Story

STORIES: Final[tuple[Story, ...]] = (*pods.STORIES, *reading.STORIES, *objects.STORIES, *custom.STORIES)
