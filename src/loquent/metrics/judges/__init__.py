"""Small trained models: classifiers, reward models, answerers and guessers, by one trainer."""
